from typing import Any

import pytest
from omegaconf import OmegaConf

from src.config.validation import validate_config
from src.errors import UserError

PARTS = "tests.config.parts"


def error_message(**config: Any) -> str:
    with pytest.raises(UserError) as error:
        validate_config(OmegaConf.create({"extras": {"trusted_modules": ["tests"]}, **config}))
    return str(error.value)


def test_a_valid_configuration_passes() -> None:
    validate_config(OmegaConf.create({"seed": 3, "optimizer": {"_target_": "torch.optim.Adam", "lr": 0.1}}))


def test_the_message_lists_every_mistake_with_its_path_in_one_column() -> None:
    text = error_message(
        sede=3,
        tags="a",
        model={"encoder": {"_target_": f"{PARTS}.Encoder", "hiden_dim": 64}},
        data={"_target_": f"{PARTS}.Csv", "path": "???", "batch_size": 2},
        optimizer={"_target_": f"{PARTS}.Optimizer", "lr": "fast"},
    )
    assert text.splitlines() == [
        "5 mistakes in the configuration; nothing was started.",
        "  sede=3                       no such option; did you mean seed?",
        "  tags=a                       expects a list in [ ], each item text, got 'a'",
        "  model.encoder.hiden_dim=64   no such option; did you mean model.encoder.hidden_dim?",
        "  data.path                    is required: write data.path=…",
        "  optimizer.lr=fast            expects a number, got 'fast'",
    ]


def test_one_mistake_is_counted_in_the_singular() -> None:
    assert error_message(seed="x").startswith(
        "1 mistake in the configuration; nothing was started.\n  seed=x   expects"
    )


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ({"model": {"encodr": {}}}, "model.encodr={}   no such option; did you mean model.encoder?"),
        (
            {"extras": {"trusted": []}},
            "extras.trusted=[]   no such option; did you mean extras.trusted_modules?",
        ),
        ({"loss": {"_target_": "os.system"}}, "loss._target_=os.system   os is not a trusted module; if"),
        ({"loss": {"_target_": "???"}}, "loss._target_   is required: write loss._target_=…"),
        ({"loss": {"_target_": """${oc.decode:"'???'"}"""}}, "loss._target_=???   ??? is not a trusted module"),
        ({"seed": "${sede}"}, "seed=${sede}   cannot be resolved: Interpolation key 'sede' not found"),
        (
            {"task_name": "${oc.env:NOWHERE_AT_ALL}"},
            "task_name=${oc.env:NOWHERE_AT_ALL}   cannot be resolved: ",
        ),
        (
            {"task_name": "${nothing:x}"},
            "task_name=${nothing:x}   cannot be resolved: Unsupported interpolation",
        ),
        ({"tags": ["a", "${sede}"]}, "tags[1]=${sede}   cannot be resolved: "),
        (
            {"optimizer": {"_target_": f"{PARTS}.Optimizer"}},
            "optimizer.lr   is required: write +optimizer.lr=…",
        ),
        (
            {"callbacks": {"mine": {"_target_": f"{PARTS}.Callback", "input_dim": 1}}},
            "callbacks.mine.heads   is required: write +callbacks.mine.heads=…",
        ),
        (
            {"model": {"attention": {"_target_": f"{PARTS}.NoAttention", "x": 1}}},
            "model.attention.x=1   no such option; the options are none",
        ),
        (
            {"logger": {"a": {"_target_": f"{PARTS}.Logger", "folder": "", "extra": [{"_target_": "os.system"}]}}},
            "logger.a.extra[0]._target_=os.system   cannot be an object: write a plain value",
        ),
    ],
)
def test_each_mistake_has_its_message(config: dict[str, Any], line: str) -> None:
    assert line in error_message(**config)


def test_an_option_that_the_program_sets_is_neither_required_nor_allowed() -> None:
    head = {"_target_": f"{PARTS}.Head"}  # the program passes input_dim and num_logits
    validate_config(OmegaConf.create({"model": {"head": head}, "extras": {"trusted_modules": ["tests"]}}))
    text = error_message(model={"head": head | {"num_logits": 3}})
    assert "model.head.num_logits=3   is set by the program: remove it" in text


def test_a_reference_to_an_invalid_value_is_not_a_second_mistake() -> None:
    text = error_message(seed="x", data={"_target_": f"{PARTS}.Toy", "batch_size": 2, "seed": "${seed}"})
    assert text.startswith("1 mistake")


def test_resolved_values_are_checked() -> None:
    text = error_message(task_name="a", tags=["${task_name}", "${oc.decode:'3'}"])
    assert "tags=[a, 3]   expects a list in [ ], each item text" in text


def test_keys_of_hydra_are_allowed() -> None:
    node = {"_target_": "torch.optim.Adam", "_partial_": True, "_convert_": "all"}
    validate_config(OmegaConf.create({"optimizer": node}))


@pytest.mark.parametrize(("key", "value"), [("_args_", [1]), ("_recursive_", False)])
def test_a_key_that_would_bypass_the_checks_of_options_is_refused(key: str, value: Any) -> None:
    text = error_message(optimizer={"_target_": "torch.optim.SGD", key: value})
    assert f"optimizer.{key}=" in text and "is not supported: write key=value options" in text


def test_each_command_has_its_options() -> None:
    cfg = OmegaConf.create({"ckpt_path": "a.ckpt", "text": "x"})
    validate_config(cfg, "predict")
    with pytest.raises(UserError, match="text=x   no such option"):
        validate_config(cfg, "eval")
