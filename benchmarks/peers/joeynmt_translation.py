"""Train JoeyNMT's recurrent model for some minutes, and translate with it.

Run it with the python of a virtual environment that holds `joeynmt` (see README.md beside this
file). JoeyNMT does all the work, set up through its own configuration: data sets, model (GRU
encoder-decoder, Bahdanau score), loss, optimizer, `TrainManager.train_and_validate` with its
validations and checkpoints, beam search. This script ends the loop when the minutes are over, has
it validate once more, and translates with the best checkpoint: the one whose greedy translations
of the dev set, in tokens, have the highest BLEU. The minutes hold everything the loop does but
that last validation; reading the data and translating the test set come on top.

Widths, batches of 64, dropout and input feeding are as in JoeyNMT's own configuration of a
recurrent model for a small data set (`configs/iwslt_deen_bahdanau.yaml`). The learning rate rises
and falls per update, because `plateau`, which is used there, fails with current torch; its peak is
twice that configuration's, since there is little time.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from joeynmt_training import NEVER, ready

MAX_LEN = 100  # tokens of a translation; JoeyNMT's default depends on what else is in the batch


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "data", type=Path, help="folder of train.src, train.trg, dev.src, dev.trg, test.src"
    )
    parser.add_argument("hypotheses", type=Path, help="file to write: tokens, one line per source")
    parser.add_argument(
        "--minutes", type=float, default=15.0, help="to train, validations included"
    )
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--length-penalty", type=float, default=0.0, help="alpha; 0 for none")
    parser.add_argument("--embed-dim", type=int, default=256)
    parser.add_argument("--hidden-dim", type=int, default=256, help="decoder and attention")
    parser.add_argument("--encoder-dim", type=int, default=256, help="each direction")
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--label-smoothing", type=float, default=0.1)
    parser.add_argument("--learning-rate", type=float, default=2e-3, help="its peak")
    parser.add_argument("--warmup", type=int, default=200, help="updates up to the peak")
    parser.add_argument("--batch-size", type=int, default=64, help="pairs in a batch")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def configuration(args: argparse.Namespace, model_dir: Path, num_pairs: int) -> dict:
    """What a JoeyNMT user would write in YAML."""
    layer = {
        "type": "recurrent",
        "rnn_type": "gru",
        "num_layers": 1,
        "dropout": args.dropout,
        "embeddings": {"embedding_dim": args.embed_dim, "dropout": args.dropout},
    }
    encoder = {**layer, "bidirectional": True, "hidden_size": args.encoder_dim}
    decoder = {
        **layer,
        "hidden_size": args.hidden_dim,
        "hidden_dropout": args.dropout,
        "attention": "bahdanau",
        "init_hidden": "bridge",
        "input_feeding": True,
    }
    validate_every = max(200, num_pairs // args.batch_size)  # an epoch, or more
    return {
        "name": "translation",
        "model_dir": str(model_dir),
        "use_cuda": False,
        "fp16": False,
        "random_seed": args.seed,
        "data": {
            **{split: str(args.data / split) for split in ("train", "dev", "test")},
            "dataset_type": "plain",
            "src": {"lang": "src", "level": "word"},
            "trg": {"lang": "trg", "level": "word"},
        },
        "model": {"encoder": encoder, "decoder": decoder},
        "training": {
            "optimizer": "adam",
            "learning_rate": args.learning_rate,
            "learning_rate_min": 1e-8,  # JoeyNMT stops below it
            "learning_rate_warmup": args.warmup,
            "scheduling": "warmupinversesquareroot",
            "label_smoothing": args.label_smoothing,
            "clip_grad_norm": 1.0,
            "normalization": "tokens",
            "batch_size": args.batch_size,
            "batch_type": "sentence",
            "epochs": NEVER,
            "validation_freq": validate_every,
            "logging_freq": validate_every,
            "early_stopping_metric": "bleu",
            "keep_best_ckpts": 1,
            "print_valid_sents": [],
        },
        "testing": {
            "batch_size": 128,
            "beam_size": args.beam,
            "beam_alpha": args.length_penalty or -1,
            "max_output_length": MAX_LEN,
            "generate_unk": False,
            "eval_metrics": ["bleu"],
        },
    }


def train_and_translate(args: argparse.Namespace, model_dir: Path) -> tuple[list[list[str]], dict]:
    """The tokens of each test source's translation, and what the training came to."""
    import torch
    from joeynmt.config import parse_global_args, set_validation_args
    from joeynmt.helpers import load_checkpoint
    from joeynmt.prediction import predict, prepare
    from joeynmt.training import TrainManager

    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    num_pairs = (args.data / "train.src").read_text(encoding="utf-8").count("\n")
    config = parse_global_args(configuration(args, model_dir, num_pairs), mode="train")
    model, train_data, dev_data, test_data = prepare(config, rank=0, mode="train")
    trainer = TrainManager(
        rank=0,
        model=model,
        model_dir=config.model_dir,
        device=config.device,
        autocast=config.autocast,
        seed=config.seed,
        train_args=config.train,
        dev_args=set_validation_args(config.test),
    )
    train_step, start, seconds = trainer._train_step, time.monotonic(), 0.0

    def timed_step(batch):
        nonlocal seconds  # until the last update
        seconds = time.monotonic() - start
        if seconds >= 60 * args.minutes:
            # through the loop's own limits: this update is the last, and is validated
            last = trainer.stats.steps + 1
            trainer.args = trainer.args._replace(max_updates=last, validation_freq=1)
        return train_step(batch)

    trainer._train_step = timed_step
    trainer.train_and_validate(train_data=train_data, valid_data=dev_data)
    if not trainer.stats.is_max_update:
        sys.exit(130)  # Ctrl-C, which the loop takes for an end like any other

    best = load_checkpoint(model_dir / "best.ckpt", map_location=config.device)
    model.load_state_dict(best["model_state"])
    *_, found, _, _ = predict(
        model=model,
        data=test_data,
        device=config.device,
        n_gpu=0,
        args=config.test,
        autocast=config.autocast,
    )
    end = model.trg_vocab._itos[model.eos_index]
    report = {
        "updates": trainer.stats.steps,
        "epochs": round(trainer.stats.steps * args.batch_size / num_pairs, 2),
        "seconds": round(seconds, 1),
        "parameters": sum(part.numel() for part in model.parameters() if part.requires_grad),
        "validations": len((model_dir / "validations.txt").read_text("utf-8").splitlines()),
        "best_update": trainer.stats.best_ckpt_iter,
        "best_dev_bleu_of_tokens": round(trainer.stats.best_ckpt_score, 2),
    }
    return [[token for token in tokens if token != end] for tokens in found], report


def main() -> None:
    args = parse_args()
    versions = ready()
    with tempfile.TemporaryDirectory(dir=args.hypotheses.parent) as folder:
        translations, report = train_and_translate(args, Path(folder))
    lines = "".join(" ".join(tokens) + "\n" for tokens in translations)
    args.hypotheses.write_text(lines, encoding="utf-8")
    print(json.dumps({**versions, "threads": args.threads, **report}))


if __name__ == "__main__":
    main()
