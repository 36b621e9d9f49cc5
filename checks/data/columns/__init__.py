"""Problems of the area data: columns, rows and templates."""
