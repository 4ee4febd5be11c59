"""Makes test/fixtures/engine/: tiny random checkpoints of every architecture and what PyTorch + transformers compute with them.

Run once, by hand, and commit the result; nothing in the project needs Python afterwards:

    python bench/peers/make-goldens.py [NAME ...]      # the models, or only those named
    python bench/peers/make-goldens.py --adapters      # the LoRA adapters, after the models
    python bench/peers/make-goldens.py --tokenizer     # the token ids, after make-tokenizers.ts

Needs torch, transformers, tokenizers, safetensors, peft (CPU builds do); the versions used are written into each golden file.

Each model folder holds a Hugging Face folder (config.json, generation_config.json, model.safetensors; f32 weights) and

    golden.json         the ragged batch with masks, weights and advantages, the scalar results, greedy continuations
    golden.safetensors  logits.<example> [tokens, vocabulary]; logprobs.<example> [tokens];
                        cross-entropy/<parameter> and clipped-surrogate/<parameter>: the gradients

Everything is computed in double precision where transformers allows it (its RMSNorm and rotary tables stay f32) and
stored as f32. Conventions are those of src/engine/engine.ts: entry t of a list speaks of predicting token t from the
tokens before it, entry 0 is unused, losses are plain weighted sums over tokens:

    cross-entropy      sum of w * -log p(target)
    clipped-surrogate  sum of w * (surrogate + klCoefficient * k3 - entropyCoefficient * entropy)
      ratio            exp(clamp(logprob - oldLogprob, -20, 20))
      surrogate        -min(ratio * A, clip(ratio, 1 - clipLow, 1 + clipHigh) * A), for A < 0 at most dualClip * |A|
      k3               exp(d) - d - 1 with d = clamp(referenceLogprob - logprob, -20, 20)
"""

import argparse
import json
import math
import pathlib

import torch
import transformers
from safetensors.torch import save_file

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "test" / "fixtures" / "engine"
LOSS = {"clipLow": 0.2, "clipHigh": 0.2, "dualClip": 3, "klCoefficient": 0.1, "entropyCoefficient": 0.01}
LENGTHS = [13, 7, 21, 2]
PROMPT_LENGTHS = [4, 2, 9, 1]
VERSIONS = {"torch": torch.__version__, "transformers": transformers.__version__}


def models():
    """The checkpoints: name -> (model, does config.json spell the rotary base the old way?)."""
    shared = dict(
        vocab_size=97, hidden_size=32, intermediate_size=48, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=64, rms_norm_eps=1e-6, bos_token_id=1, eos_token_id=2, pad_token_id=0,
    )
    llama = transformers.LlamaConfig(
        **shared, num_hidden_layers=3, tie_word_embeddings=False,
        rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
    )
    qwen = transformers.Qwen2Config(
        **shared, num_hidden_layers=2, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 1000000.0},
    )
    # Both spellings of the rotary base occur in the wild: "rope_theta" (every folder before transformers 5) and "rope_parameters".
    # As in Llama 3.2, but with waves that fall on both sides of the borders and between them within 64 positions.
    scaled = transformers.LlamaConfig(
        **shared, num_hidden_layers=2, tie_word_embeddings=True,
        rope_parameters={
            "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 16,
        },
    )
    # Heads wider than hidden_size / heads, as in Qwen3-0.6B.
    qwen3 = transformers.Qwen3Config(
        **shared, head_dim=16, num_hidden_layers=2, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 1000000.0},
    )
    mistral = transformers.MistralConfig(
        **shared, num_hidden_layers=2, tie_word_embeddings=False, sliding_window=None,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    )
    return {
        "tiny-llama": (transformers.LlamaForCausalLM(llama), True),
        "tiny-qwen2": (transformers.Qwen2ForCausalLM(qwen), False),
        "tiny-llama3": (transformers.LlamaForCausalLM(scaled), False),
        "tiny-qwen3": (transformers.Qwen3ForCausalLM(qwen3), False),
        "tiny-mistral": (transformers.MistralForCausalLM(mistral), False),
    }


def randomise(model, seed):
    """Weights large enough that attention is far from uniform; norm weights and biases away from their usual 1 and 0."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if "norm" in name:
                parameter.copy_(1 + 0.2 * noise)
            elif name.endswith("bias"):
                parameter.copy_(0.5 * noise)
            else:
                parameter.copy_(0.25 * noise)


def write_checkpoint(model, folder, old_rope_spelling):
    model.save_pretrained(folder, safe_serialization=True)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    if old_rope_spelling:
        config["rope_theta"] = config.pop("rope_parameters")["rope_theta"]
        config["torch_dtype"] = config.pop("dtype")
    path.write_text(json.dumps(config, indent=2) + "\n")
    generation = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n")


def make_batch(seed):
    """A ragged batch; every list is aligned with tokenIds. Log-probabilities are added by `add_policies`."""
    generator = torch.Generator().manual_seed(seed)
    examples = []
    for length, prompt in zip(LENGTHS, PROMPT_LENGTHS):
        mask = [0] * prompt + [1] * (length - prompt)
        if length > 20:
            mask[14:17] = [0, 0, 0]  # an observation between two turns
        weights = torch.rand(length, generator=generator)
        weights[-1 if length > 2 else 0] = 0  # a trained token of weight 0 counts nowhere
        targets = torch.full((length,), -1)
        if length == 7:
            targets[4] = 11  # an auxiliary label, cross-entropy only
        examples.append({
            "tokenIds": torch.randint(3, 97, (length,), generator=generator).tolist(),
            "mask": mask,
            "weights": [round(w, 6) if m else 0 for w, m in zip(weights.tolist(), mask)],
            "advantages": [round(a, 6) for a in torch.randn(length, generator=generator).tolist()],
            "targets": targets.tolist(),
        })
    return examples


def add_policies(examples, logprobs, seed):
    """Old and reference log-probabilities around the current ones, so that every branch of the surrogate occurs."""
    generator = torch.Generator().manual_seed(seed)
    for example, current in zip(examples, logprobs):
        # Mostly within the clip range, sometimes far outside it (ratio e^1.5 > dualClip), once beyond the clamp.
        offset = torch.randn(len(current), generator=generator) * 0.3
        offset[::4] = offset[::4].sign() * 1.5
        if len(current) == 13:
            offset[9] = 25.0
            example["advantages"][9] = 1.25
        old = current.detach() - offset
        reference = current.detach() + torch.randn(len(current), generator=generator) * 0.5
        example["logprobs"] = [round(x, 6) if m else 0 for x, m in zip(old.tolist(), example["mask"])]
        example["referenceLogprobs"] = [round(x, 6) if m else 0 for x, m in zip(reference.tolist(), example["mask"])]


def forward(model, examples):
    """Per example: logits [tokens, vocabulary] and log-softmax [tokens - 1, vocabulary] of the next token. One padded batch, as users run it."""
    longest = max(LENGTHS)
    ids = torch.zeros(len(examples), longest, dtype=torch.long)
    attention = torch.zeros_like(ids)
    for row, example in enumerate(examples):
        length = len(example["tokenIds"])
        ids[row, :length] = torch.tensor(example["tokenIds"])
        attention[row, :length] = 1
    logits = model(input_ids=ids, attention_mask=attention).logits
    rows = [logits[row, : len(example["tokenIds"])] for row, example in enumerate(examples)]
    return rows, [torch.log_softmax(row[:-1], dim=-1) for row in rows]


def token_logprobs(distributions, examples):
    """Per example [tokens]: log p(token t | tokens before t), 0 for t = 0."""
    result = []
    for distribution, example in zip(distributions, examples):
        ids = torch.tensor(example["tokenIds"][1:])
        chosen = distribution.gather(1, ids[:, None])[:, 0]
        result.append(torch.cat([torch.zeros(1, dtype=chosen.dtype), chosen]))
    return result


def cross_entropy(distributions, examples):
    total = 0
    for distribution, example in zip(distributions, examples):
        targets = [t if t >= 0 else i for t, i in zip(example["targets"], example["tokenIds"])]
        chosen = distribution.gather(1, torch.tensor(targets[1:])[:, None])[:, 0]
        total = total - (torch.tensor(example["weights"][1:], dtype=chosen.dtype) * chosen).sum()
    return total


def clipped_surrogate(distributions, examples):
    """The loss as a tensor, and the scalars of ForwardBackwardResult."""
    total, kl, weight_sum, clipped, entropies, count = 0, 0.0, 0.0, 0, 0.0, 0
    regimes = {"inside": 0, "clipped": 0, "dual clipped": 0}
    for distribution, example, current in zip(distributions, examples, token_logprobs(distributions, examples)):
        for t in range(1, len(example["tokenIds"])):
            weight = example["weights"][t]
            if not example["mask"][t] or weight == 0:
                continue
            advantage = example["advantages"][t]
            log_ratio = torch.clamp(current[t] - example["logprobs"][t], -20, 20)
            ratio = log_ratio.exp()
            bounded = torch.clamp(ratio, 1 - LOSS["clipLow"], 1 + LOSS["clipHigh"])
            objective = torch.minimum(ratio * advantage, bounded * advantage)
            removed = bool(bounded * advantage < ratio * advantage)
            if advantage < 0:
                floor = torch.tensor(LOSS["dualClip"] * advantage, dtype=objective.dtype)
                if objective < floor:
                    removed = True
                    regimes["dual clipped"] += 1
                objective = torch.maximum(objective, floor)
            regimes["clipped" if removed else "inside"] += 1
            d = torch.clamp(example["referenceLogprobs"][t] - current[t], -20, 20)
            k3 = d.exp() - d - 1
            p = distribution[t - 1]
            entropy = -(p.exp() * p).sum()
            total = total + weight * (-objective + LOSS["klCoefficient"] * k3 - LOSS["entropyCoefficient"] * entropy)
            kl += weight * k3.item()
            weight_sum += weight
            clipped += removed
            entropies += entropy.item()
            count += 1
    assert min(regimes.values()) > 0, regimes
    return total, {"tokens": count, "clipFraction": clipped / count, "kl": kl / weight_sum, "entropy": entropies / count}


def gradients(model, loss):
    model.zero_grad()
    loss.backward(retain_graph=True)
    plain = lambda name: name.removeprefix("base_model.model.").replace(".default.", ".")  # peft's names as in its files
    return {plain(name): parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.requires_grad}


def greedy(model, prompts, tokens):
    """Greedy continuations; refuses near-ties, which another f32 implementation could break the other way."""
    result = []
    for prompt in prompts:
        ids = list(prompt)
        for _ in range(tokens):
            with torch.no_grad():
                top = model(input_ids=torch.tensor([ids])).logits[0, -1].topk(2)
            assert (top.values[0] - top.values[1]).item() > 1e-3, "a near-tie: choose another seed"
            ids.append(top.indices[0].item())
        assert 2 not in ids[len(prompt):], "an end-of-text token: choose another seed"
        generated = model.generate(
            torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            do_sample=False, max_new_tokens=tokens, pad_token_id=0,
        )[0].tolist()
        assert generated == ids, "generate and the plain loop disagree"
        result.append({"promptTokenIds": list(prompt), "tokenIds": ids[len(prompt):]})
    return result


def make_model(name, model, old_rope_spelling, seed):
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    randomise(model, seed)
    model.eval()
    write_checkpoint(model, folder, old_rope_spelling)
    write_golden(name, folder, model.double(), seed)


def write_golden(name, folder, model, seed):
    examples = make_batch(seed + 1)
    with torch.no_grad():
        before = token_logprobs(forward(model, examples)[1], examples)
    add_policies(examples, before, seed + 2)
    logits, distributions = forward(model, examples)
    supervised = cross_entropy(distributions, examples)
    surrogate, scalars = clipped_surrogate(distributions, examples)
    tensors = {f"logits.{i}": row.detach() for i, row in enumerate(logits)}
    tensors |= {f"logprobs.{i}": row.detach() for i, row in enumerate(token_logprobs(distributions, examples))}
    for kind, loss in (("cross-entropy", supervised), ("clipped-surrogate", surrogate)):
        tensors |= {f"{kind}/{parameter}": gradient for parameter, gradient in gradients(model, loss).items()}
    save_file({key: value.float().contiguous() for key, value in tensors.items()}, folder / "golden.safetensors")
    prompts = [examples[0]["tokenIds"][:4], examples[1]["tokenIds"][:1], examples[2]["tokenIds"][:18]]
    golden = {
        "maker": "bench/peers/make-goldens.py",
        "versions": VERSIONS,
        "examples": examples,
        "crossEntropy": {"loss": supervised.item()},
        "clippedSurrogate": {"options": LOSS, "loss": surrogate.item(), **scalars},
        "greedy": greedy(model, prompts, 16),
    }
    assert all(math.isfinite(golden[key]["loss"]) for key in ("crossEntropy", "clippedSurrogate"))
    (folder / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")
    print(name, golden["crossEntropy"], {k: v for k, v in golden["clippedSurrogate"].items() if k != "options"})


ADAPTERS = {
    "tiny-qwen2": dict(r=4, lora_alpha=6, target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]),
    "tiny-llama": dict(r=3, lora_alpha=3, target_modules=["q_proj", "v_proj"], use_rslora=True),
}


def make_adapter(base, options, seed):
    """<base>-lora: the adapter as peft writes it, and what PyTorch computes with it on the base model."""
    import peft

    folder = FOLDER / f"{base}-lora"
    model = transformers.AutoModelForCausalLM.from_pretrained(FOLDER / base, dtype=torch.float32)
    model = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", lora_dropout=0.0, **options))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.copy_(0.25 * torch.randn(parameter.shape, generator=generator))
    model.eval()
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text()) | {"base_model_name_or_path": base}
    config["target_modules"].sort()
    path.write_text(json.dumps(config, indent=2) + "\n")
    write_golden(folder.name, folder, model.double(), seed)


STRINGS = [
    "", " ", "\n", "  two  spaces ", "\ttab\r\nline", "hello", "Hello, world!", "the capital of France is Paris.",
    "The Capital of FRANCE", "I'm you're they've it's we'll he'd", "3.14159 and 1,000,000", "2024-11-30T22:50:00Z", "12345678901234567890",
    "naïve café", "cafe\u0301 (combining acute)", "a\u0300\u0316\u0301 stacked marks", "Zürich Ærø Łódź", "ПРИВЕТ мир", "Ελληνικά",
    "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดีชาวโลก", "你好，世界", "東京都は日本の首都です。", "안녕하세요 세계",
    "😀", "👨‍👩‍👧‍👦 family", "🇫🇷🇩🇪 flags", "👍🏽 tone", "mixed 中文 and English 和 emoji 🎉!",
    "for (let i = 0; i < 10; i++) { sum += a[i]; }", "def f(x):\n    return x ** 2\n", "https://example.org/a?b=c&d=%20e#f", "a_b-c.d/e\\f|g",
    "{\"name\":\"search\",\"arguments\":{\"query\":\"x\"}}", "<reason>why</reason> <answer>42</answer>", "[1] > [2] > [10]", "…—“quotes”‘single’", "\u00a0nbsp\u3000ideographic",
    "\u200bzero\u200dwidth", "ﬁ ligature Å Å", "x" * 40, "aaaa    bbbb\n\n\n\ncccc",
]


def make_tokenizer_golden(name):
    """What Hugging Face `tokenizers` makes of STRINGS with one of the fixture tokenizers (trained by make-tokenizers.ts)."""
    import tokenizers

    folder = FOLDER / name
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    cases = [{"text": text, "tokenIds": tokenizer.encode(text, add_special_tokens=False).ids} for text in STRINGS]
    for case in cases:
        case["decoded"] = tokenizer.decode(case["tokenIds"], skip_special_tokens=False)
    golden = {"maker": "bench/peers/make-goldens.py --tokenizer", "versions": {"tokenizers": tokenizers.__version__}}
    lines = ",\n".join("  " + json.dumps(case, ensure_ascii=False) for case in cases)
    (folder / "golden.json").write_text(json.dumps(golden)[:-1] + f', "cases": [\n{lines}\n]}}\n')
    exact = sum(case["decoded"] == case["text"] for case in cases)
    print(f"{name}: {len(cases)} strings, {tokenizer.get_vocab_size()} entries, {exact} decode to themselves")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("models", nargs="*", help="make only these")
    arguments.add_argument("--adapters", action="store_true", help="make the adapters only")
    arguments.add_argument("--tokenizer", action="store_true", help="make the tokenizer goldens only")
    options = arguments.parse_args()
    torch.set_num_threads(2)
    if options.adapters:
        for index, (base, adapter) in enumerate(ADAPTERS.items()):
            make_adapter(base, adapter, 1000 + 150 * index)
    elif options.tokenizer:
        for name in ("tokenizer", "tokenizer-folded"):
            make_tokenizer_golden(name)
    else:
        for index, (name, (model, old_rope_spelling)) in enumerate(models().items()):
            if not options.models or name in options.models:
                make_model(name, model, old_rope_spelling, 100 * (index + 1))
