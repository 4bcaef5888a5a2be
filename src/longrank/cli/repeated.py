"""Say which options of a command line are given several times, of which the last counts."""

from __future__ import annotations

from collections import Counter
from typing import Any

from typer.core import TyperCommand, TyperOption

from longrank.cli import console


class LastCounts(TyperCommand):
    """A command that says which option, other than a repeatable option, is given several times."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the command."""
        if not ctx.resilient_parsing:  # of completion
            _, _, given = self.make_parser(ctx).parse_args(args=list(args))
            for option, n in Counter(given).items():
                if n > 1 and isinstance(option, TyperOption) and _has_one_value(option):
                    name = "/".join([*option.opts[-1:], *option.secondary_opts])
                    console.note(f"note: {name} is given {n} times, and the last counts")
        rest = super().parse_args(ctx, args)
        settings = ctx.params.get("assignments") or ()
        for key, n in Counter(setting.partition("=")[0].strip() for setting in settings).items():
            if n > 1:
                console.note(f"note: --set {key} is given {n} times, and the last counts")
        return rest


def _has_one_value(option: TyperOption) -> bool:
    """Tell whether a later value replaces an earlier value; a switch without an opposite has a single value."""
    return not option.multiple and not option.count and not (option.is_flag and not option.secondary_opts)
