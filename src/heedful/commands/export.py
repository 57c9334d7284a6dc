"""Write a trained model for use without Heedful and torch: `heedful export ckpt_path=… out=my_model`."""

from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from heedful.base.process import typed
from heedful.commands.entry import entry

if TYPE_CHECKING:
    from heedful.models.ensemble import Member


@entry("export")
def main(cfg: DictConfig) -> None:
    """Write a folder with the model in ONNX format, its tokenizer, a model card and a script that classifies texts."""
    from heedful.inference.api import restore_ensemble

    difference = export_member(restore_ensemble(cfg.ckpt_path, cfg.extras, accepts_exports=False).members[0], cfg.out)
    files = ", ".join(sorted(path.name for path in Path(cfg.out).iterdir()))
    print(f"Written to {cfg.out}: {files}")
    print(f"Largest difference between the outputs of the ONNX model and of the trained model: {difference:.1e}")


def export_member(member: "Member", out: str) -> float:
    """Write the files of a trained model, and return the largest difference between its outputs and those of ONNX."""
    from heedful.base.optional_packages import require_extra
    from heedful.portable.folder import new_folder, write_model, write_model_card
    from heedful.portable.onnx_model import PortableModel, convert

    require_extra("onnx", "onnxruntime", "onnxscript", "safetensors", by=typed("export"), extra="export")
    path, card, model, _ = member
    codec = card.codec
    size = len(codec.tokenizer.vocabulary)
    portable = PortableModel(model, codec.task, size, codec.max_length, codec.pairs, codec.features).eval()
    with new_folder(out) as folder:
        difference = convert(portable, folder / "model.onnx")
        write_model(folder, card, portable)
        write_model_card(folder, card, path, portable, difference)
    return difference


if __name__ == "__main__":
    main()
