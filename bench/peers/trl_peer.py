"""TRL's GRPOTrainer doing what `npm run bench -- grpo` measures of our engine: a single-turn GRPO step, KL to a reference model on.

Started by the benchmark with one JSON argument: {"shape": ..., "threads": 2, "seed": 1, "prompts": 16, "samples": 8, "prompt": 96,
"tokens": 64, "klCoefficient": 0.04}. A request {"steps": n} runs n steps and is answered with {"seconds": [...], "peakMemoryBytes": ...};
a step's time is that between the ends of two steps: generation, rewards, reference log-probabilities, loss, update.
"""

import json
import os
import sys
import tempfile
import time

arguments = json.loads(sys.argv[1])
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(arguments["threads"])
os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"

import datasets
import tokenizers
import torch
import transformers
import trl

from lines import Lines, model_config, peak_memory_bytes

lines = Lines()
torch.set_num_threads(arguments["threads"])
transformers.logging.set_verbosity_error()
datasets.disable_progress_bars()
vocabulary = arguments["shape"]["vocabularySize"]
completions = arguments["prompts"] * arguments["samples"]


def make_tokenizer():
    """One word, one token, so that a prompt of n words is n tokens: w3, w4, ..."""
    words = {"<pad>": 0, "<s>": 1, "</s>": 2} | {f"w{i}": i for i in range(3, vocabulary)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<pad>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>", padding_side="left",
    )


def reward(completions, **_):
    """Share of even words: cheap, and different from one completion to the next."""
    return [sum(word[-1] in "02468" for word in text.split()) / arguments["tokens"] for text in completions]


class Benchmark(transformers.TrainerCallback):
    """Lets the trainer run as many steps as the benchmark asks for, and no further while it waits."""

    remaining = 0
    seconds = []
    start = 0.0

    def wait(self, control):
        request = lines.receive()
        if request is None:
            control.should_training_stop = True
            return
        self.remaining, self.seconds = request["steps"], []
        self.start = time.perf_counter()

    def on_train_begin(self, args, state, control, **_):
        lines.send({"versions": {"python": sys.version.split()[0], "torch": torch.__version__,
                                 "transformers": transformers.__version__, "trl": trl.__version__}})
        self.wait(control)

    def on_step_end(self, args, state, control, **_):
        now = time.perf_counter()
        self.seconds.append(now - self.start)
        self.remaining -= 1
        if self.remaining == 0:
            lines.send({"seconds": self.seconds, "peakMemoryBytes": peak_memory_bytes()})
            self.wait(control)
        self.start = time.perf_counter()


torch.manual_seed(arguments["seed"])
folder = tempfile.TemporaryDirectory()
transformers.LlamaForCausalLM(model_config(arguments["shape"])).save_pretrained(folder.name)
prompt_ids = torch.randint(3, vocabulary, (512, arguments["prompt"]))
dataset = datasets.Dataset.from_dict({"prompt": [" ".join(f"w{i}" for i in row) for row in prompt_ids.tolist()]})
trainer = trl.GRPOTrainer(
    model=folder.name,  # a path, because the trainer loads the reference model from it
    reward_funcs=reward,
    processing_class=make_tokenizer(),
    train_dataset=dataset,
    callbacks=[Benchmark()],
    args=trl.GRPOConfig(
        output_dir=folder.name, use_cpu=True, bf16=False, model_init_kwargs={"dtype": "float32"}, report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True,
        per_device_train_batch_size=completions, gradient_accumulation_steps=1, num_generations=arguments["samples"],
        gradient_checkpointing=False, max_completion_length=arguments["tokens"], generation_kwargs={"min_new_tokens": arguments["tokens"]},
        temperature=1.0, beta=arguments["klCoefficient"], learning_rate=1e-4, max_grad_norm=1.0, num_train_epochs=1000,
        dataloader_pin_memory=False, seed=arguments["seed"], loss_type="grpo",
    ),
)
trainer.train()
