"""What is written from the catalogue: the pages of its problems, the table of coverage, the files of a new problem."""
