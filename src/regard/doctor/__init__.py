"""The doctor: give it an attention implementation, and it names what is wrong, and the fix.

It runs the code it is given, in a process of its own with limits of time and memory.
"""

from typing import TYPE_CHECKING

import lazy_loader as _lazy_loader

__all__ = ["Finding", "Report", "assert_sound", "diagnose"]

if TYPE_CHECKING:
    from regard.doctor.assert_sound import assert_sound
    from regard.doctor.diagnose import diagnose
    from regard.doctor.findings import Finding, Report
else:
    __getattr__, _, _ = _lazy_loader.attach(
        __name__,
        submod_attrs={
            "assert_sound": ["assert_sound"],
            "diagnose": ["diagnose"],
            "findings": ["Finding", "Report"],
        },
    )


def __dir__() -> list[str]:
    return list(__all__)
