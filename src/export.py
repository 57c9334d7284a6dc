"""Write a trained model for use without Heed and torch: `python -m src.export ckpt_path=… out=my_model`."""

from omegaconf import DictConfig

from src.cli.entry import entry


@entry("export")
def main(cfg: DictConfig) -> None:
    """Write a folder with the model in ONNX format, its tokenizer, a model card and a script that classifies texts."""
    from pathlib import Path

    from src import build
    from src.extras import require_extra
    from src.portable.folder import new_folder, write_model, write_model_card
    from src.portable.onnx_model import PortableModel, convert
    from src.portable.quantization import measure_loss, quantize

    require_extra("onnx", "onnxruntime", "onnxscript", "safetensors", by="python -m src.export", extra="export")
    card, (model, loss) = build.restore(cfg.ckpt_path, cfg.extras)
    with new_folder(cfg.out) as folder:
        portable = PortableModel(
            model, loss, len(card.codec.tokenizer.vocabulary), card.codec.truncation.max_length
        ).eval()
        difference = convert(portable, folder / "model.onnx")
        write_model(folder, card, portable)
        accuracy_loss = None
        if cfg.int8:
            quantize(folder / "model.onnx", folder / "model.int8.onnx")
            data = build.datamodule(card.cfg, card.codec)
            accuracy_loss = measure_loss(folder / "model.onnx", folder / "model.int8.onnx", data.val_dataloader())
        write_model_card(folder, Path(cfg.ckpt_path), card, portable, difference, accuracy_loss)
    print(f"Written to {cfg.out}: {', '.join(sorted(path.name for path in Path(cfg.out).iterdir()))}")
    print(f"Largest difference between the outputs of the ONNX model and of the trained model: {difference:.1e}")
    if accuracy_loss is not None:
        print(f"int8: {accuracy_loss}")


if __name__ == "__main__":
    main()
