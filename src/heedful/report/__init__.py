"""Reports: tools return sections; one function each renders them for the terminal, as Markdown and HTML."""
