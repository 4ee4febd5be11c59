"""Makes test/fixtures/engine/gguf/: what the `gguf` package (llama.cpp's own) makes of random blocks, and a tiny model file.

Run once, by hand, and commit the result; nothing in the project needs Python afterwards. Needs gguf, numpy, safetensors.

    blocks.json       for every number format: the bytes of a few blocks (base64) and the numbers they stand for
    tiny-llama3.gguf  the tiny-llama3 model beside it, its weights in f32 and laid out as llama.cpp lays out Llama weights
"""

import base64
import json
import pathlib

import gguf
import numpy
from safetensors.numpy import load_file

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "test" / "fixtures" / "engine"
FORMATS = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}


def block_cases():
    generator = numpy.random.default_rng(1)
    cases = []
    for name in FORMATS:
        kind = gguf.GGMLQuantizationType[name]
        size, count = gguf.GGML_QUANT_SIZES[kind][1], 3 if name in HALVES else 40
        raw = generator.integers(0, 256, (count, size), dtype=numpy.uint8)
        if name not in HALVES:
            numbers = generator.standard_normal(count).astype(numpy.float32)
            raw = gguf.quants.quantize(numbers, kind).view(numpy.uint8).reshape(count, size)
        for at in HALVES.get(name, []):  # scales: ordinary halves, so that nothing overflows
            raw[:, at : at + 2] = generator.standard_normal(count).astype(numpy.float16)[:, None].view(numpy.uint8)
        numbers = gguf.quants.dequantize(raw.reshape(-1) if name in HALVES else raw.reshape(-1).view(dtype_of(name)), kind)
        cases.append({
            "format": name, "type": int(kind), "bytes": base64.b64encode(raw.tobytes()).decode(),
            "numbers": [float(x) for x in numpy.asarray(numbers, dtype=numpy.float32).reshape(-1)],
        })
    return cases


def dtype_of(name):
    return {"F32": numpy.float32, "F16": numpy.float16, "BF16": numpy.uint8}[name]


def fold(weights, heads):
    """As llama.cpp's converter permutes the rows of query and key projections of Llama models."""
    rows, columns = weights.shape
    return weights.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write_tiny_model():
    source = FOLDER / "tiny-llama3"
    config = json.loads((source / "config.json").read_text())
    rope = config["rope_parameters"]
    writer = gguf.GGUFWriter(FOLDER / "gguf" / "tiny-llama3.gguf", "llama")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(rope["rope_theta"])
    pieces = ["<unk>", "<s>", "</s>"] + [chr(33 + index) for index in range(93)] + ["ab"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("llama-bpe")
    writer.add_token_list(pieces)
    writer.add_token_types([3, 3, 3] + [1] * 94)
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template("{% for message in messages %}{{ message['content'] }}{% endfor %}")
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    for name, weights in load_file(source / "model.safetensors").items():
        projection = name.split(".")[-2]
        if projection in heads:
            weights = fold(weights, heads[projection])
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), numpy.ascontiguousarray(weights))
    half = config["hidden_size"] // config["num_attention_heads"] // 2
    original, low, high = 8192, 1.0, 4.0
    turns = original * rope["rope_theta"] ** (-numpy.arange(half) / half) / (2 * numpy.pi)
    share = numpy.clip((turns - low) / (high - low), 0, 1)
    writer.add_tensor("rope_freqs.weight", (1 / (share + (1 - share) / rope["factor"])).astype(numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    (FOLDER / "gguf").mkdir(exist_ok=True)
    cases = ",\n".join(json.dumps(case) for case in block_cases())
    (FOLDER / "gguf" / "blocks.json").write_text(f"[\n{cases}\n]\n")
    write_tiny_model()
