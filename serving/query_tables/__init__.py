"""The tables that queries write, read from their compacted topics when somebody asks: the last row of each key."""
