"""What PyTorch + transformers + peft make of the same texts, tokens and batches, for `npm run bench -- parity`.

Started with one JSON argument: {"threads": 2}. All arithmetic is f32 in eager mode. Requests, each answered with one JSON line:

    {"task": "make", "architecture": "qwen3", "folder": F}           writes a random checkpoint of about 10 million parameters
    {"task": "load", "model": F, "adapter": A or null}               a folder or GGUF file, with peft's adapter on it
    {"task": "tokenize", "tokenizer": F, "texts": [...], "conversations": [[{"role", "content"}]]}
    {"task": "score", "sequences": [[id]], "last": K, "file": S}     writes logprobs.i [tokens], distributions.i [K, vocabulary]
    {"task": "greedy", "prompts": [[id]], "tokens": N}               generate() with its key-value cache, no stop token
    {"task": "margin", "tokenIds": [id], "first": a, "second": b}    by how much a's logit exceeds b's after tokenIds
    {"task": "gradient", "examples": [...], "options": {...}, "file": S}  loss, its parts, and every gradient by name

Conventions of lists are those of src/engine/engine.ts: entry t speaks of predicting token t from those before it.
"""

import json
import os
import pathlib
import re
import sys

arguments = json.loads(sys.argv[1])
os.environ["TQDM_DISABLE"] = "1"
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(arguments["threads"])

import peft
import tokenizers
import torch
import transformers
from safetensors.torch import save_file

from lines import Lines

lines = Lines()
torch.set_num_threads(arguments["threads"])
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
state = {}


def source(path):
    """from_pretrained's arguments for a folder or a GGUF file."""
    path = pathlib.Path(path)
    return ((path.parent,), {"gguf_file": path.name}) if path.suffix == ".gguf" else ((path,), {})


def configuration(architecture):
    shared = dict(
        vocab_size=8192, hidden_size=320, intermediate_size=960, num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=2,
        max_position_embeddings=512, rms_norm_eps=1e-6, bos_token_id=1, eos_token_id=2, pad_token_id=0,
    )
    rope = lambda theta: {"rope_type": "default", "rope_theta": theta}
    if architecture == "llama":
        # As in Llama 3.2, but with waves on both sides of the borders and between them within the lengths that are compared.
        scaled = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                  "original_max_position_embeddings": 64}
        return transformers.LlamaConfig(**shared, tie_word_embeddings=False, rope_parameters=scaled)
    if architecture == "qwen2":
        return transformers.Qwen2Config(**shared, tie_word_embeddings=True, rope_parameters=rope(1e6))
    if architecture == "qwen3":
        return transformers.Qwen3Config(**shared, head_dim=64, tie_word_embeddings=True, rope_parameters=rope(1e6))
    return transformers.MistralConfig(**shared, tie_word_embeddings=False, sliding_window=None, rope_parameters=rope(1e4))


def make(architecture, folder):
    """Attention far from uniform, norm weights and biases away from their usual 1 and 0."""
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(configuration(architecture), dtype=torch.float32)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape)
            parameter.copy_(1 + 0.2 * noise if "norm" in name else (0.5 if name.endswith("bias") else 0.08) * noise)
    model.save_pretrained(folder)
    return {"parameters": model.num_parameters()}


def load(model, adapter=None):
    positional, named = source(model)
    state.clear()
    loaded, info = transformers.AutoModelForCausalLM.from_pretrained(*positional, **named, dtype=torch.float32, output_loading_info=True)
    problems = {key: sorted(map(str, value)) for key, value in info.items() if value} if not named else {}
    if adapter is not None:
        loaded = peft.PeftModel.from_pretrained(loaded, adapter, is_trainable=True)
    state["model"] = loaded.eval()
    return {"class": type(loaded).__name__, "parameters": sum(p.numel() for p in loaded.parameters()), "problems": problems,
            "versions": {"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__}}


def without_special(tokenizer):
    """The same tokenizer as one that takes every added token for ordinary text."""
    spec = json.loads(tokenizer.backend_tokenizer.to_str())
    for token in spec["added_tokens"]:
        token["special"] = True
    plain = tokenizers.Tokenizer.from_str(json.dumps(spec))
    plain.encode_special_tokens = True
    return lambda text: plain.encode(text, add_special_tokens=False).ids


def add_pretokenizer(tokenizer, path):
    """
    transformers leaves out what tokenizer.ggml.pre says and splits as GPT-2 does. SmolLM2's tokenizer.json (and llama.cpp for "smollm")
    splits every digit first; the other values that are read here are left as they come.
    """
    import gguf

    if gguf.GGUFReader(path).fields["tokenizer.ggml.pre"].contents() != "smollm":
        return None
    steps = tokenizers.pre_tokenizers
    tokenizer.backend_tokenizer.pre_tokenizer = steps.Sequence([steps.Digits(True), steps.ByteLevel(add_prefix_space=False)])
    return "digits are split first, as tokenizer.ggml.pre says"


def tokenize(tokenizer, texts, conversations):
    path = tokenizer
    positional, named = source(path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(*positional, **named)
    encode_all = lambda: [tokenizer.encode(text, add_special_tokens=False) for text in texts]
    as_read = encode_all()
    correction = add_pretokenizer(tokenizer, path) if named else None
    corrected = sum(before != after for before, after in zip(as_read, encode_all()))
    markup, data = lambda text: tokenizer.encode(text, add_special_tokens=False), without_special(tokenizer)

    def render(messages, encode):
        try:
            return encode(tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False))
        except Exception as error:  # a template's own refusal: both sides must have one
            print("template:", error, file=sys.stderr)
            return None

    def render_data(messages):
        # Contents travel through the template as private-use characters and are encoded on their own.
        marked = [{"role": message["role"], "content": f"\ue0f0{place}\ue0f1"} for place, message in enumerate(messages)]
        def encode(rendered):
            parts = re.split("\ue0f0(\\d+)\ue0f1", rendered)
            return [i for n, part in enumerate(parts) for i in (data(messages[int(part)]["content"]) if n % 2 else markup(part))]
        return render(marked, encode)

    return {"markup": [markup(text) for text in texts], "data": [data(text) for text in texts],
            "chats": [render(messages, markup) for messages in conversations] if tokenizer.chat_template else None,
            "dataChats": [render_data(messages) for messages in conversations] if tokenizer.chat_template else None,
            "peer": {"class": type(tokenizer).__name__, **({"correction": correction, "correctedTexts": corrected} if correction else {})}}


def forward(ids):
    return state["model"](input_ids=torch.tensor([ids]), use_cache=False).logits[0]


def chosen(distribution, ids):
    """[tokens - 1, vocabulary] -> log p(token t | those before it) for t >= 1."""
    return distribution.gather(1, torch.tensor(ids)[1:, None])[:, 0]


@torch.inference_mode()
def score(sequences, last, file):
    tensors = {}
    for index, ids in enumerate(sequences):
        distribution = torch.log_softmax(forward(ids), dim=-1)
        tensors[f"distributions.{index}"] = distribution[-last:].contiguous()
        tensors[f"logprobs.{index}"] = torch.cat([torch.zeros(1), chosen(distribution[:-1], ids)])
    save_file(tensors, file)
    return {}


@torch.inference_mode()
def greedy(prompts, tokens):
    outputs = []
    for prompt in prompts:
        ids = torch.tensor([prompt])
        output = state["model"].generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, repetition_penalty=1.0, max_new_tokens=tokens, eos_token_id=-1,
            pad_token_id=0,
        )[0].tolist()
        outputs.append(output[len(prompt):])
    return {"outputs": outputs}


@torch.inference_mode()
def margin(tokenIds, first, second):
    logits = forward(tokenIds)[-1]
    return {"margin": (logits[first] - logits[second]).item()}


def gradient(examples, options, file):
    """Eq. 3 with dual clip, k3 and an entropy bonus, the plain weighted sum over tokens; autograd does the rest."""
    model = state["model"]
    model.zero_grad()
    totals = dict(loss=0.0, tokens=0, clipped=0, dualClipped=0, kl=0.0, weight=0.0, entropy=0.0)
    for example in examples:
        column = lambda name: torch.tensor(example[name], dtype=torch.float32)[1:]
        distribution = torch.log_softmax(forward(example["tokenIds"])[:-1], dim=-1)
        current = chosen(distribution, example["tokenIds"])
        weight, advantage = column("weights") * column("mask"), column("advantages")
        ratio = torch.exp(torch.clamp(current - column("logprobs"), -20, 20))
        bounded = torch.clamp(ratio, 1 - options["clipLow"], 1 + options["clipHigh"])
        objective = torch.minimum(ratio * advantage, bounded * advantage)
        floor = options["dualClip"] * advantage
        dual = (advantage < 0) & (objective < floor)
        objective = torch.where(dual, floor, objective)
        d = torch.clamp(column("referenceLogprobs") - current, -20, 20)
        k3 = torch.exp(d) - d - 1
        entropy = -(distribution.exp() * distribution).sum(dim=-1)
        loss = (weight * (-objective + options["klCoefficient"] * k3 - options["entropyCoefficient"] * entropy)).sum()
        loss.backward()
        counted = weight != 0
        removed = dual | (bounded * advantage < ratio * advantage)
        parts = dict(loss=loss, tokens=counted.sum(), clipped=(removed & counted).sum(), dualClipped=(dual & counted).sum(),
                     kl=(weight * k3).sum(), weight=weight.sum(), entropy=entropy[counted].sum())
        for name, part in parts.items():
            totals[name] += part.item()
    plain = lambda name: name.removeprefix("base_model.model.").replace(".default.", ".")  # peft's names as in its files
    save_file({plain(name): parameter.grad.contiguous() for name, parameter in model.named_parameters() if parameter.requires_grad}, file)
    tokens = totals["tokens"]
    return {"loss": totals["loss"], "tokens": tokens, "clipFraction": totals["clipped"] / tokens, "dualClipped": totals["dualClipped"],
            "kl": totals["kl"] / totals["weight"], "entropy": totals["entropy"] / tokens}


tasks = {"make": make, "load": load, "tokenize": tokenize, "score": score, "greedy": greedy, "margin": margin, "gradient": gradient}
lines.send({"python": sys.version.split()[0]})
while (request := lines.receive()) is not None:
    lines.send(tasks[request.pop("task")](**request))
