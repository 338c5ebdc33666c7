import subprocess
import sys


def test_only_batches_needs_torch():
    program = (
        "import sys, regard.text\n"
        "lazy = {'Batch', 'BatchLoader', 'collate', 'make_batches'}\n"
        "for name in set(regard.text.__all__) - lazy: getattr(regard.text, name)\n"
        "print('torch' in sys.modules)\n"
        "regard.text.Batch\n"
        "print('torch' in sys.modules)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["False", "True"]
