"""The keys of a composed configuration outside of `_target_` nodes, and the types of their values.

The options of a `_target_` node are validated against the constructor of its class. conf/ contains the defaults.
"""

from typing import Any, Literal, TypedDict


class Model(TypedDict, total=False):
    embedding: dict[str, Any]
    position: dict[str, Any]
    encoder: dict[str, Any]
    attention: dict[str, Any]
    pooling: dict[str, Any]
    head: dict[str, Any]


class Paths(TypedDict, total=False):
    root_dir: str
    output_dir: str


class Extras(TypedDict, total=False):
    print_config: bool
    ignore_warnings: bool
    trusted_modules: list[str]


class Sweep(TypedDict, total=False):
    dry_run: bool
    resume: str | None


class ParamGroups(TypedDict, total=False):
    embedding: dict[str, Any]
    position: dict[str, Any]
    encoder: dict[str, Any]
    attention: dict[str, Any]
    pooling: dict[str, Any]
    head: dict[str, Any]


class Common(TypedDict, total=False):
    task_name: str
    paths: Paths
    extras: Extras


class Train(Common, total=False):
    tags: list[str]
    train: bool
    test: bool
    ckpt_path: str | None
    seed: int | None
    data: dict[str, Any]
    model: Model
    loss: dict[str, Any]
    optimizer: dict[str, Any]
    param_groups: ParamGroups
    sweep: Sweep
    scheduler: dict[str, Any]
    trainer: dict[str, Any]
    callbacks: dict[str, Any] | None
    logger: dict[str, Any] | None


class Eval(Common, total=False):
    tags: list[str]
    ckpt_path: str
    split: Literal["val", "test"]
    seed: int | None
    data: dict[str, Any]
    trainer: dict[str, Any]
    callbacks: dict[str, Any] | None
    logger: dict[str, Any] | None


class Predict(Common, total=False):
    ckpt_path: str
    text: str | None
    file: str | None
    top: int
    json: bool | None
    pictures: str | None
    batch_size: int


class Export(Common, total=False):
    ckpt_path: str
    out: str
    int8: bool


COMMANDS: dict[str, type] = {  # by their primary configs
    "train": Train,
    "eval": Eval,
    "predict": Predict,
    "export": Export,
}
WITHIN: dict[str, type] = {
    "model": Model,
    "param_groups": ParamGroups,
    "paths": Paths,
    "extras": Extras,
    "sweep": Sweep,
}
