"""The kinds of plans, for the lenses that change code."""

from enum import Enum
from pathlib import Path

from leakline.patching import plan_file
from leakline.patching.accesses import plan_file as arm_plan_file
from leakline.patching.accesses.module import make_arm_plan
from leakline.patching.module import make_plan


class PlanKind(Enum):
    """A kind of plan; the value is the lens that needs it, and what it notes besides."""

    LOSS = "loss"
    BIRTHS = "loss, births"
    ACCESSES = "accesses"

    @property
    def suffix(self) -> str:
        """How the names of such files end."""
        if self is PlanKind.ACCESSES:
            return ".arm"
        return plan_file.SUFFIXES[self is PlanKind.BIRTHS]

    def make(self, module: Path) -> tuple[bytes, bytes]:
        """Return the build-id of a module and the content of its plan.

        Raises:
            PlanError: It cannot be planned.
        """
        if self is PlanKind.ACCESSES:
            arm_plan = make_arm_plan(module)
            return arm_plan.build_id, arm_plan_file.serialise(arm_plan)
        plan = make_plan(module, births=self is PlanKind.BIRTHS)
        return plan.build_id, plan_file.serialise(plan)

    def is_sound(self, path: Path, build_id: bytes) -> bool:
        """Tell whether a file is such a plan for a module, and undamaged.

        Raises:
            OSError: It cannot be read.
        """
        if self is PlanKind.ACCESSES:
            return arm_plan_file.is_sound(path, build_id)
        births = self is PlanKind.BIRTHS
        return plan_file.is_sound(path, build_id, births=births)
