"""Reports: tools return sections; one function each renders them for the terminal, as Markdown, LaTeX and HTML."""
