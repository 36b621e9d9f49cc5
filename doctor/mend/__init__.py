"""Plans that mend: typed steps, editing of files, their journal."""
