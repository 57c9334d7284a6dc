"""Write a trained model for use without Heedful and torch: `heedful export ckpt_path=… out=my_model`."""

from pathlib import Path

from omegaconf import DictConfig

from heedful.commands.entry import entry


@entry("export")
def main(cfg: DictConfig) -> None:
    """Write a folder with the model in ONNX format, its tokenizer, a model card and a script that classifies texts."""
    from heedful.inference.api import restore_ensemble
    from heedful.portable.folder import export_member

    difference = export_member(restore_ensemble(cfg.ckpt_path, cfg.extras, accepts_exports=False).members[0], cfg.out)
    files = ", ".join(sorted(path.name for path in Path(cfg.out).iterdir()))
    print(f"Written to {cfg.out}: {files}")
    print(f"Largest difference between the outputs of the ONNX model and of the trained model: {difference:.1e}")


if __name__ == "__main__":
    main()
