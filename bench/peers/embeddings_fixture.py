"""Makes test/fixtures/retrieval/encoder/: a tiny BERT with random weights as an ONNX encoder folder, and what sentence-transformers makes of it.

    python bench/peers/embeddings_fixture.py

The vocabulary is learnt from data/atlas/corpus.jsonl and the texts below, all of this project's own.
"""

import json
import pathlib
import tempfile

import onnx
import sentence_transformers
import sentence_transformers.models as parts
import tokenizers
import torch
import transformers

from embeddings_export import export

root = pathlib.Path(__file__).resolve().parents[2]
folder = root / "test" / "fixtures" / "retrieval" / "encoder"
texts = [
    "The capital of Peru is Lima.",
    "query: which capital has Peru?",
    "passage: The lion sleeps.",
    "ÉCOLE naïve Ångström; don't stop-believing!",
    "日本の首都は東京です。",
    "Свобода 🙂👩‍👩‍👧 и мир",
    "x",
    "   ",
    "",
    "tabs\tand\nnew lines\r\nand \u00a0 odd\u200b spaces",
    "[SEP] spelled out [MASK] tokens",
    "supercalifragilisticexpialidocious" * 4,
    " ".join(f"The river number {number} flows into the sea." for number in range(40)),
]


def vocabulary():
    """A WordPiece tokenizer of 300 entries."""
    lines = (root / "data" / "atlas" / "corpus.jsonl").read_text().splitlines()[:1000]
    tokenizer = tokenizers.BertWordPieceTokenizer(lowercase=True)
    tokenizer.train_from_iterator([json.loads(line)["text"] for line in lines] + texts, vocab_size=300, limit_alphabet=120, show_progress=False)
    return transformers.BertTokenizerFast(tokenizer_object=tokenizer._tokenizer, model_max_length=40)


def tiny_model(tokenizer):
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=40, pad_token_id=tokenizer.pad_token_id, initializer_range=0.4,
    )
    return transformers.BertModel(config, add_pooling_layer=False)


def shrink(path):
    """Drops what tracing left: names of nodes and modules, which are larger than the weights."""
    model = onnx.load(path)
    del model.metadata_props[:]
    names = {}
    keep = {value.name for value in [*model.graph.input, *model.graph.output]} | {""}
    short = lambda name: name if name in keep else names.setdefault(name, f"t{len(names)}")
    for node in model.graph.node:
        node.name = ""
        node.doc_string = ""
        del node.metadata_props[:]
        node.input[:] = [short(name) for name in node.input]
        node.output[:] = [short(name) for name in node.output]
    for tensor in model.graph.initializer:
        tensor.name = short(tensor.name)
    del model.graph.value_info[:]
    onnx.checker.check_model(model)
    onnx.save(model, path)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        tokenizer = vocabulary()
        tiny_model(tokenizer).save_pretrained(scratch)
        tokenizer.save_pretrained(scratch)
        transformer = parts.Transformer(scratch, max_seq_length=24)
        whole = sentence_transformers.SentenceTransformer(
            modules=[transformer, parts.Pooling(16, pooling_mode="mean"), parts.Normalize()], device="cpu",
            prompts={"query": "query: ", "passage": "passage: "},
        )
        whole.save_pretrained(scratch, create_model_card=False)
        export(scratch, folder)
        prefixed = lambda prefix: [text if text.startswith(prefix) else prefix + text for text in texts]
        goldens = {"texts": texts, "queries": whole.encode(prefixed("query: ")).tolist()}
        goldens["documents"] = whole.encode(prefixed("passage: ")).tolist()
        for mode in ["cls", "lasttoken"]:
            other = sentence_transformers.SentenceTransformer(modules=[transformer, parts.Pooling(16, pooling_mode=mode)], device="cpu")
            goldens[mode] = other.encode(prefixed("passage: ")).tolist()
        cut = lambda prefix: sum(len(transformer.tokenizer(text)["input_ids"]) > 24 for text in prefixed(prefix))
        goldens["truncated"] = [cut("query: "), cut("passage: ")]
        goldens["tokenIds"] = [transformer.tokenizer(text, truncation=True)["input_ids"] for text in texts]
    shrink(folder / "onnx" / "model.onnx")
    goldens["versions"] = {"sentence-transformers": sentence_transformers.__version__, "transformers": transformers.__version__}
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in goldens.items())
    (folder / "goldens.json").write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
