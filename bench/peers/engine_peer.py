"""PyTorch + transformers doing what `npm run bench -- engine` and `models` measure of our engine: same shapes, f32, same threads, in eager mode.

Started by the benchmark with one JSON argument: {"shape": ..., "threads": 2, "seed": 1}, with "lora" too where peft's adapter is to be trained
instead of the model. Nothing is recomputed: gradient checkpointing is off, which is faster and takes more memory. Requests:

    {"task": "train", "batch": 32, "length": 256, "steps": 3}        full-token cross-entropy, clip 1.0, fused AdamW, one update a step
    {"task": "sample", "batch": 64, "prompt": 32, "tokens": 128}     generate() with its KV cache, temperature 1, no stop token
    {"task": "matmul", "size": 1024, "repeats": 5}                    torch.mm, seconds of each

Each is answered with {"seconds": [...], "peakMemoryBytes": ...}.
"""

import json
import os
import sys
import time

arguments = json.loads(sys.argv[1])
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(arguments["threads"])

import torch
import transformers

from lines import Lines, model_config, peak_memory_bytes

lines = Lines()
torch.set_num_threads(arguments["threads"])
torch.manual_seed(arguments["seed"])
transformers.logging.set_verbosity_error()
versions = {"python": sys.version.split()[0], "torch": torch.__version__, "transformers": transformers.__version__}
model = transformers.AutoModelForCausalLM.from_config(model_config(arguments["shape"]), dtype=torch.float32, attn_implementation="sdpa")
if (lora := arguments.get("lora")) is not None:
    import peft

    versions["peft"] = peft.__version__
    model = peft.get_peft_model(model, peft.LoraConfig(
        r=lora["rank"], lora_alpha=lora["alpha"], target_modules=lora["targets"], task_type="CAUSAL_LM"))
vocabulary = arguments["shape"]["vocabularySize"]
trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-3, betas=(0.9, 0.98), weight_decay=0.01, fused=True)


def train(batch, length, steps):
    model.train()
    seconds = []
    for _ in range(steps):
        ids = torch.randint(3, vocabulary, (batch, length))
        # The last token predicts nothing: marking its label is cheaper than cutting its logits, which would copy all of them.
        labels = torch.nn.functional.pad(ids[:, 1:], (0, 1), value=-100)
        start = time.perf_counter()
        logits = model(input_ids=ids, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.view(-1, vocabulary), labels.view(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        seconds.append(time.perf_counter() - start)
    return seconds


def sample(batch, prompt, tokens):
    model.eval()
    ids = torch.randint(3, vocabulary, (batch, prompt))
    start = time.perf_counter()
    with torch.inference_mode():
        output = model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=True, temperature=1.0, top_k=0, top_p=1.0,
            max_new_tokens=tokens, eos_token_id=-1, pad_token_id=0,
        )
    seconds = time.perf_counter() - start
    assert output.shape == (batch, prompt + tokens), output.shape
    return [seconds]


def matmul(size, repeats):
    a, b = torch.randn(size, size), torch.randn(size, size)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        a.mm(b)
        seconds.append(time.perf_counter() - start)
    return seconds


lines.send({"versions": versions,
            "parameters": sum(parameter.numel() for parameter in model.parameters())})
tasks = {"train": train, "sample": sample, "matmul": matmul}
while (request := lines.receive()) is not None:
    seconds = tasks[request.pop("task")](**request)
    lines.send({"seconds": seconds, "peakMemoryBytes": peak_memory_bytes()})
