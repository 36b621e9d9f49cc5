"""Problems of the area python: releases that do not fit."""
