"""Training speed of JoeyNMT (GRU encoder-decoder, Bahdanau score) in pairs per second.

Run it with the python of a virtual environment that holds `joeynmt` (see README.md beside this
file). JoeyNMT does all the work: its data set, batch sampler, model, loss, optimizer, scheduler
and `TrainManager.train_and_validate` loop, set up through its own configuration. This script only
notes the time at which each training step starts. One round is the time from the start of one step
to the start of the step `--updates` later, so it holds everything the loop does for an update:
fetching and padding the batch, forward, backward, optimizer, scheduler. Nothing is evaluated or
saved inside. Beside each round stands how many cores other processes kept busy meanwhile: a round
with more than a few hundredths there was disturbed.

JoeyNMT has no batches of like length. `--order bucketed` gives it the next best thing that its
settings allow: the file is written in blocks of one batch, each of like source and target length,
the blocks in random order, and its own shuffling is off.

The step is the cheapest it offers: fp32, no dropout, no label smoothing, no gradient clipping.
"""

import argparse
import json
import logging
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

NO_PEER = """joeynmt cannot be imported by {python}: {error}
Make its environment with the commands in {readme}, then run this script with that python."""

NEVER = 1_000_000_000  # updates between validations; a multiple of JoeyNMT's logging interval, 100

Pair = tuple[str, str]


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train", type=Path, help="TSV: source, tab, target tokens between spaces")
    parser.add_argument("--updates", type=int, default=60, help="updates in a round")
    parser.add_argument("--warmup", type=int, default=10, help="updates before the first round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=256, help="pairs in a batch")
    parser.add_argument("--embed-dim", type=int, default=192)
    parser.add_argument(
        "--hidden-dim",
        type=int,
        default=192,
        help="of each encoder direction, the decoder and the attention",
    )
    parser.add_argument(
        "--order",
        choices=["shuffled", "bucketed"],
        default="shuffled",
        help="JoeyNMT's own shuffling, or a file written in blocks of like length",
    )
    parser.add_argument("--workers", type=int, default=0, help="processes that load data")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON line")
    args = parser.parse_args()
    for name in ("updates", "rounds", "batch_size", "embed_dim", "hidden_dim", "threads"):
        if getattr(args, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    if args.warmup < 0 or args.workers < 0:
        parser.error("--warmup and --workers must not be negative")
    return args


def read_pairs(path: Path) -> list[Pair]:
    """Source spelled in characters and target in tokens, from a two-column TSV."""
    pairs = []
    with path.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            source, *targets = line.rstrip("\r\n").split("\t")
            if not source or len(targets) != 1 or not targets[0].split():
                sys.exit(f"{path}, line {number}: expected a source, one tab and a target")
            pairs.append((source, " ".join(targets[0].split())))
    if not pairs:
        sys.exit(f"{path} holds no pairs")
    return pairs


def bucketed(pairs: list[Pair], batch_size: int, seed: int) -> list[Pair]:
    """The pairs in blocks of `batch_size` of like lengths, the full blocks in random order."""
    rng = random.Random(seed)
    pairs = rng.sample(pairs, len(pairs))
    pairs.sort(key=lambda pair: (len(pair[0]), pair[1].count(" ")))
    blocks = [pairs[at : at + batch_size] for at in range(0, len(pairs), batch_size)]
    rest = [blocks.pop()] if len(blocks[-1]) < batch_size else []  # last, or it shifts the others
    rng.shuffle(blocks)
    return [pair for block in blocks + rest for pair in block]


def write_corpus(path: Path, pairs: list[Pair]) -> None:
    """JoeyNMT's "plain" format: one file for each side, `path`.src and `path`.trg."""
    for side, column in (("src", 0), ("trg", 1)):
        text = "".join(f"{pair[column]}\n" for pair in pairs)
        path.with_suffix(f".{side}").write_text(text, encoding="utf-8")


def configuration(args: argparse.Namespace, folder: Path) -> dict:
    """What a JoeyNMT user would write in YAML."""
    recurrent = {
        "type": "recurrent",
        "rnn_type": "gru",
        "num_layers": 1,
        "hidden_size": args.hidden_dim,
        "embeddings": {"embedding_dim": args.embed_dim},
    }
    return {
        "name": "training_speed",
        "model_dir": str(folder / "model"),
        "use_cuda": False,
        "fp16": False,
        "random_seed": args.seed,
        "num_workers": args.workers,
        "data": {
            "train": str(folder / "train"),
            "dev": str(folder / "dev"),
            "dataset_type": "plain",
            "src": {"lang": "src", "level": "char"},
            "trg": {"lang": "trg", "level": "word"},
        },
        "model": {
            "encoder": {**recurrent, "bidirectional": True},
            "decoder": {**recurrent, "attention": "bahdanau", "init_hidden": "bridge"},
        },
        "training": {
            "optimizer": "adam",
            "learning_rate": 0.001,
            "learning_rate_min": 1e-8,  # JoeyNMT stops below it
            "learning_rate_warmup": 100,
            "scheduling": "warmupinversesquareroot",  # "plateau" fails with current torch
            "normalization": "tokens",
            "batch_size": args.batch_size,
            "batch_type": "sentence",
            "shuffle": args.order == "shuffled",
            "epochs": NEVER,
            "updates": args.warmup + args.rounds * args.updates + 1,  # one more ends the last round
            "validation_freq": NEVER,
        },
        "testing": {},
    }


def cpu_seconds() -> tuple[float, float] | None:
    """CPU time used so far by the whole machine and by this process; None outside Linux."""
    stat = Path("/proc/stat")
    if not stat.is_file():
        return None
    user, nice, system, _, _, *rest = map(int, stat.read_text().split("\n")[0].split()[1:9])
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK"), time.process_time()


def measure(args: argparse.Namespace, pairs: list[Pair], folder: Path) -> dict:
    """Train, and report the pairs per second of each round."""
    import torch
    from joeynmt.config import parse_global_args, set_validation_args
    from joeynmt.prediction import prepare
    from joeynmt.training import TrainManager

    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    write_corpus(folder / "train", pairs)
    write_corpus(folder / "dev", pairs[:1])  # the loop wants one; it is never evaluated
    (folder / "model").mkdir()
    config = parse_global_args(configuration(args, folder), mode="train")
    model, train_data, dev_data, _ = prepare(config, rank=0, mode="train")
    trainer = TrainManager(
        rank=0,
        model=model,
        model_dir=config.model_dir,
        device=config.device,
        n_gpu=config.n_gpu,
        num_workers=config.num_workers,
        autocast=config.autocast,
        seed=config.seed,
        train_args=config.train,
        dev_args=set_validation_args(config.test),
    )

    starts: list[float] = []
    cpu: list[tuple[float, float] | None] = []
    sizes: list[int] = []
    losses: list[float] = []
    train_step = trainer._train_step

    def noted_step(batch):
        starts.append(time.perf_counter())
        cpu.append(cpu_seconds())
        sizes.append(batch.nseqs)
        loss, correct = train_step(batch)
        losses.append(loss)
        return loss, correct

    trainer._train_step = noted_step
    trainer.train_and_validate(train_data=train_data, valid_data=dev_data)

    speeds, others = [], []
    for at in range(args.warmup, args.warmup + args.rounds * args.updates, args.updates):
        end = at + args.updates
        seconds = starts[end] - starts[at]
        speeds.append(round(sum(sizes[at:end]) / seconds, 1))
        if cpu[at] and cpu[end]:
            machine, own = (now - then for now, then in zip(cpu[end], cpu[at], strict=True))
            others.append(round(max(machine - own, 0) / seconds, 2))
    return {
        "pairs_per_second_rounds": speeds,
        "cores_used_by_others_rounds": others,
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "source_vocabulary": len(model.src_vocab),
        "target_vocabulary": len(model.trg_vocab),
        "first_loss": round(losses[0], 3),
        "last_loss": round(losses[-1], 3),
    }


def ready() -> dict:
    """Import JoeyNMT, or say how to get it, and give the versions; what is killed tidies up."""
    try:
        import joeynmt.training
        import torch
        from importlib_metadata import version
    except ImportError as error:
        readme = Path(__file__).with_name("README.md")
        sys.exit(NO_PEER.format(python=sys.executable, error=error, readme=readme))
    logging.disable(logging.WARNING)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the folder goes too
    return {
        "peer": joeynmt.__name__,
        "version": version("joeynmt"),
        "torch": torch.__version__,
    }


def main() -> None:
    args = parse_args()
    load = os.getloadavg()[0]
    versions = ready()

    if not args.train.is_file():
        sys.exit(f"{args.train} is not a file")
    pairs = read_pairs(args.train)
    if args.order == "bucketed":
        pairs = bucketed(pairs, args.batch_size, args.seed)
    with tempfile.TemporaryDirectory(prefix="joeynmt-") as folder:
        measured = measure(args, pairs, Path(folder))

    report = {
        **versions,
        "threads": args.threads,
        "load_before": load,
        "order": args.order,
        "workers": args.workers,
        "batch_size": args.batch_size,
        "embed_dim": args.embed_dim,
        "hidden_dim": args.hidden_dim,
        "updates": args.updates,
        "warmup": args.warmup,
        **measured,
    }
    if args.json:
        print(json.dumps(report))
    else:
        print("\n".join(f"{name}: {value}" for name, value in report.items()))


if __name__ == "__main__":
    main()
