"""The kinds of plans, for the lenses that change code."""

from collections.abc import Container
from enum import Enum
from pathlib import Path

from leakline.patching import plan_file
from leakline.patching.accesses import plan_file as arm_plan_file
from leakline.patching.accesses.module import make_arm_plan
from leakline.patching.module import make_plan


class PlanKind(Enum):
    """A kind of plan; the value is the lens that needs it, and what there is besides."""

    LOSS = "loss"
    BIRTHS = "loss, births"
    ACCESSES = "accesses"
    ACCESSES_BESIDE_LOSS = "accesses, loss"
    ACCESSES_BESIDE_BIRTHS = "accesses, loss, births"

    @property
    def lens(self) -> str:
        """The lens that needs it."""
        return self.value.partition(",")[0]

    @property
    def suffix(self) -> str:
        """How the names of such files end."""
        return _ARM_SUFFIXES.get(self) or plan_file.SUFFIXES[self is PlanKind.BIRTHS]

    def make(self, module: Path) -> tuple[bytes, bytes]:
        """Return the build-id of a module and the content of its plan.

        Raises:
            PlanError: It cannot be planned.
        """
        if self is PlanKind.ACCESSES:
            arm_plan = make_arm_plan(module)
            return arm_plan.build_id, arm_plan_file.serialise(arm_plan)
        births = self in {PlanKind.BIRTHS, PlanKind.ACCESSES_BESIDE_BIRTHS}
        plan = make_plan(module, births=births)
        if self in _ARM_SUFFIXES:
            arm_plan = make_arm_plan(module, beside=plan)
            return arm_plan.build_id, arm_plan_file.serialise(arm_plan)
        return plan.build_id, plan_file.serialise(plan)

    def is_sound(self, path: Path, build_id: bytes) -> bool:
        """Tell whether a file is such a plan for a module, and undamaged.

        Raises:
            OSError: It cannot be read.
        """
        if self in _ARM_SUFFIXES:
            return arm_plan_file.is_sound(path, build_id)
        births = self is PlanKind.BIRTHS
        return plan_file.is_sound(path, build_id, births=births)


_ARM_SUFFIXES = {
    PlanKind.ACCESSES: arm_plan_file.SUFFIX,
    PlanKind.ACCESSES_BESIDE_LOSS: plan_file.SUFFIXES[False] + arm_plan_file.SUFFIX,
    PlanKind.ACCESSES_BESIDE_BIRTHS: plan_file.SUFFIXES[True] + arm_plan_file.SUFFIX,
}


def kinds_for(lenses: Container[str], *, births: bool) -> list[PlanKind]:
    """Return the kinds of plans that a run with some lenses needs."""
    kinds = []
    with_births = births and "loss" in lenses
    if "loss" in lenses:
        kinds.append(PlanKind.BIRTHS if with_births else PlanKind.LOSS)
    if "accesses" in lenses:
        beside = {
            (True, True): PlanKind.ACCESSES_BESIDE_BIRTHS,
            (True, False): PlanKind.ACCESSES_BESIDE_LOSS,
        }
        kinds.append(beside.get(("loss" in lenses, with_births), PlanKind.ACCESSES))
    return kinds
