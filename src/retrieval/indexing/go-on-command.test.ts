import { expect, it } from "vitest";
import { retrievalConfig } from "../../../test/fixtures/retrieval/small-corpus.ts";
import { buildArguments, goOnCommand } from "./go-on-command.ts";
import { newIndexSettings } from "./index-settings.ts";

const begun = { formatVersion: 1, settings: {}, sources: [], done: [] };

it("is quoted as a shell takes it, and says of an import which vectors it takes", () => {
  const config = retrievalConfig({ corpus: "/my docs/it's", embedder: { kind: "onnx", model: "a/b", queryPrefix: "query: " } });
  const command = buildArguments(config, newIndexSettings(config), ["index", "import-faiss", "--faiss", "/v.index"]);
  expect(goOnCommand("/my index", { ...begun, arguments: command })).toBe(
    "cosearch index import-faiss --faiss /v.index --corpus '/my docs/it'\\''s' --embedder onnx --model a/b --set 'retrieval.embedder.queryPrefix=query: ' --index '/my index'",
  );
});

it("names the folder where a build noted no command", () => {
  expect(goOnCommand("/i", begun)).toBe("cosearch index build --index /i  and the settings it began with");
});
