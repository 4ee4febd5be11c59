"""Exports an encoder of the Hugging Face layout to ONNX, f32, with its tokenizer and sentence-transformers files beside it.

    python embeddings_export.py SOURCE FOLDER

SOURCE is a model folder (or a cached Hub name); FOLDER gets onnx/model.onnx and copies of the small files.
"""

import pathlib
import shutil
import sys
import warnings

import torch
import transformers


class TokenVectors(torch.nn.Module):
    """Fixes the order of the inputs and leaves only the last hidden state."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        output = self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
        return output.last_hidden_state


def export(source, folder):
    source, folder = pathlib.Path(source), pathlib.Path(folder)
    model = transformers.AutoModel.from_pretrained(source, attn_implementation="eager").eval()
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    ids = mask * 2
    axes = {0: "batch", 1: "length"}
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            TokenVectors(model), (ids, mask, torch.zeros_like(ids)), str(folder / "onnx" / "model.onnx"), input_names=inputs,
            output_names=["last_hidden_state"], dynamic_axes={name: axes for name in [*inputs, "last_hidden_state"]},
            opset_version=17, dynamo=False,
        )
    for file in source.rglob("*.json"):
        target = folder / file.relative_to(source)
        if file.resolve() == target.resolve():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)


if __name__ == "__main__":
    export(sys.argv[1], sys.argv[2])
