"""The peers' side of the benchmark protocol: one JSON request a line on standard input, one JSON answer a line on standard output."""

import json
import os
import resource
import sys


class Lines:
    """Standard output carries answers only: whatever a library prints goes to standard error."""

    def __init__(self):
        self.answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)

    def receive(self):
        """The next request, or None when the benchmark is done."""
        line = sys.stdin.readline()
        return json.loads(line) if line.strip() else None

    def send(self, answer):
        self.answers.write(json.dumps(answer) + "\n")
        self.answers.flush()


def peak_memory_bytes():
    """Peak resident memory of this process; Linux counts ru_maxrss in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def model_config(shape):
    """The transformers configuration (Llama or Qwen2) of the benchmark's shape (bench/model-shapes.ts)."""
    import transformers

    config = {"llama": transformers.LlamaConfig, "qwen2": transformers.Qwen2Config}[shape["architecture"]]
    return config(
        vocab_size=shape["vocabularySize"], hidden_size=shape["hiddenSize"], intermediate_size=shape["intermediateSize"],
        num_hidden_layers=shape["layers"], num_attention_heads=shape["heads"], num_key_value_heads=shape["keyValueHeads"],
        max_position_embeddings=shape["maxPositions"], tie_word_embeddings=shape["tiedHead"], rms_norm_eps=shape["rmsNormEps"],
        rope_parameters={"rope_type": "default", "rope_theta": shape["ropeTheta"]},
        bos_token_id=1, eos_token_id=2, pad_token_id=0, attn_implementation="sdpa",
    )
