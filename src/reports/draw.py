"""Draw all figures of a run, and write its page."""

from pathlib import Path

from matplotlib.figure import Figure

from src.records.examples import read_examples
from src.records.files import read_gradients, read_history, read_lexicon_weights, read_predictions, read_statistics
from src.reports.figures.attention import draw_entropy, draw_lexicon, draw_position
from src.reports.figures.evaluation import draw_confusion, draw_reliability
from src.reports.figures.heatmap import draw_maps
from src.reports.figures.strip import draw_strip
from src.reports.figures.style import save_figure
from src.reports.figures.training import draw_curves, draw_gradients
from src.reports.page.run import write_page
from src.run_result import RunResult
from src.terms.calibration import calibration_bins
from src.terms.evaluation import confusion_matrix


def draw_all(run: Path) -> list[Path]:
    """Draw the figures of a run into `pictures/` and write its `page.html`.

    A figure is omitted if the file that it shows is missing or empty; the page is omitted if it would be empty.

    Returns:
        Paths of the written files.

    Raises:
        UserError: if a file of the run cannot be read.
    """
    result, predictions = RunResult.load(run), read_predictions(run)
    history, gradients = read_history(run), read_gradients(run)
    statistics, lexicon = read_statistics(run), read_lexicon_weights(run)
    names = predictions.class_names if predictions else result.data.class_names
    paths = []

    def save(figure: Figure, name: str) -> None:
        paths.append(save_figure(figure, run / "pictures" / f"{name}.png"))

    if history:
        save(draw_curves(history, result.best.epoch), "curves")
    if gradients:
        save(draw_gradients(gradients), "gradients")
    if predictions:
        split, probabilities, labels, *_ = predictions
        save(draw_confusion(confusion_matrix(probabilities, labels), names, split), "confusion")
        save(draw_reliability(calibration_bins(probabilities, labels), split), "reliability")
    if statistics:
        save(draw_position(statistics), "attention_position")
        save(draw_entropy(statistics), "attention_entropy")
    if lexicon and lexicon["words"]:
        save(draw_lexicon(lexicon), "attention_lexicon")
    for example in read_examples(run, names):
        strip_title = f"Attention weight by word, {example.title}"
        save(draw_strip(example.words, example.weights, strip_title), f"strip_{example.name}")
        for kind, figure in draw_maps(example.words, example.matrix, example.title).items():
            save(figure, f"{kind}_{example.name}")
    if page := write_page(run):
        paths.append(page)
    return paths
