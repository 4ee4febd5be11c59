/**
 * Writes the fixture tokenizers that `make-goldens.py --tokenizer` reads. By hand, after a deliberate change of the trainer:
 * `npx tsx bench/peers/make-tokenizers.ts && python bench/peers/make-goldens.py --tokenizer`
 */
import { fileURLToPath } from "node:url";
import { writeTokenizer } from "../../src/engine/bpe-trainer.ts";
import { trainFixtureTokenizers } from "../../test/fixtures/engine/fixture-tokenizers.ts";

for (const [name, files] of Object.entries(trainFixtureTokenizers())) {
  await writeTokenizer(fileURLToPath(new URL(`../../test/fixtures/engine/${name}`, import.meta.url)), files);
}
