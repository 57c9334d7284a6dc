"""Leave out predictions that are too uncertain: `abstain=0.02` answers where the expected error is at most 2 %."""

import logging
import math
from typing import Any

from pydantic import ValidationError

from heedful import runtime
from heedful.base.errors import UserError
from heedful.base.files import first_mistake
from heedful.config.schema import COMMANDS
from heedful.models.ensemble import Ensemble
from heedful.report.numbers import format_percent
from heedful.runtime import UNSURE
from heedful.tasks.multiclass import ConfidenceLimit

log = logging.getLogger(__name__)
FEW = 500  # validation texts; with fewer, a limit is uncertain


def choose_limit(ensemble: Ensemble, error: float) -> ConfidenceLimit:
    """Return the lowest limit with at most this expected error on the validation texts, and log what it gave there.

    Raises:
        UserError: if the model has no limits, or none has so low an error.
    """
    option = f"abstain={error}"
    try:
        COMMANDS["predict"]["abstain"].adapter.validate_python(error)
    except ValidationError as mistake:
        raise UserError(f"{option}: {first_mistake(mistake)}; it is an error, such as 0.02") from None
    if len(ensemble.members) > 1:
        raise UserError(f"{option}: needs a single model, because the confidence of a mean was not validated")
    if UNSURE in ensemble.class_names:
        raise UserError(f"{option}: writes {UNSURE!r} in place of a class, but a class has this name")
    limits: tuple[ConfidenceLimit, ...] = getattr(ensemble.task, "limits", ())
    if not limits:
        raise UserError(
            f"{option}: {ensemble.members[0].name or 'the model'} does not say how often it is right at which "
            "confidence: it does not predict one class, was not validated, or an earlier version wrote it. Name "
            "the best.ckpt of a new run with one class for each text"
        )
    if (chosen := runtime.choose_limit(limits, error)) is None:
        lowest = min(limits, key=lambda limit: limit.expected_error)
        raise UserError(
            f"{option}: no confidence reaches this error on the {limits[-1].texts:,} validation texts. The lowest "
            f"expected error is {format_percent(lowest.expected_error)}, for {_share(lowest, limits[-1])} of them: "
            f"write abstain={math.ceil(lowest.expected_error * 1000) / 1000:g} or more, or validate on more texts"
        )
    log.warning("%s: %s", option, _describe(chosen, limits[-1]))
    if (texts := limits[-1].texts) < FEW:
        log.warning(
            "%s: %d validation texts are few: the limit was chosen on them, so the true error may be twice as high or "
            "more. Validate on %d or more texts (data.val_fraction)",
            *(option, texts, FEW),
        )
    return ConfidenceLimit(*chosen)


def _describe(limit: ConfidenceLimit, everything: ConfidenceLimit) -> str:
    bounds = (
        "" if limit.low is None else f" (95 % interval {format_percent(limit.low)} to {format_percent(limit.high)})"
    )
    return (
        f"answers from the confidence {limit.confidence:.3f}, which {_share(limit, everything)} of "
        f"{everything.texts:,} validation texts reach; {limit.wrong:,} of these {limit.texts:,} were wrong, "
        f"{format_percent(limit.error)}{bounds}"
    )


def answer(label: Any, confidence: float, limit: ConfidenceLimit | None) -> Any:
    """Return the label, or UNSURE if the confidence is below the limit."""
    return label if limit is None or confidence >= limit.confidence else UNSURE


def _share(limit: ConfidenceLimit, everything: ConfidenceLimit) -> str:
    return format_percent(limit.texts / everything.texts)
