"""Checks that a model folder written by this project means the same to transformers.

    python bench/peers/check-export.py FOLDER [REFERENCE.json]

Loads FOLDER with AutoModelForCausalLM and, where it has one, AutoTokenizer; fails when a weight is missing, unexpected or not used.
REFERENCE.json holds what the project computed with the same weights (bench/peers/write-export.ts writes it):

    {"sequences": [{"tokenIds": [...], "logprobs": [...]}, ...], "texts": [{"text": "...", "tokenIds": [...]}, ...]}

Prints one JSON line with the largest difference of a log-probability and exits with 1 when it is above 1e-4 or a token id differs.
"""

import json
import pathlib
import sys

import torch
import transformers

folder = pathlib.Path(sys.argv[1])
transformers.logging.set_verbosity_error()
model, info = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
problems = {key: sorted(map(str, value)) for key, value in info.items() if value}
report = {"class": type(model).__name__, "parameters": sum(p.numel() for p in model.parameters()), "problems": problems}
reference = json.loads(pathlib.Path(sys.argv[2]).read_text()) if len(sys.argv) > 2 else {"sequences": [], "texts": []}

largest = 0.0
for sequence in reference["sequences"]:
    ids = torch.tensor([sequence["tokenIds"]])
    with torch.no_grad():
        distribution = torch.log_softmax(model(ids).logits[0, :-1], dim=-1)
    expected = distribution.gather(1, ids[0, 1:, None])[:, 0]
    largest = max(largest, (expected - torch.tensor(sequence["logprobs"][1:])).abs().max().item())
report |= {"sequences": len(reference["sequences"]), "largestLogprobDifference": largest}

different = []
if (folder / "tokenizer.json").exists():
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    report |= {"tokenizer": type(tokenizer).__name__, "entries": len(tokenizer), "eos": tokenizer.eos_token, "pad": tokenizer.pad_token}
    different = [case["text"] for case in reference["texts"] if tokenizer.encode(case["text"], add_special_tokens=False) != case["tokenIds"]]
    report |= {"texts": len(reference["texts"]), "differentTexts": different}
elif reference["texts"]:
    different = ["no tokenizer.json"]

print(json.dumps(report))
sys.exit(1 if problems or different or not largest <= 1e-4 else 0)
