"""What tests of several rooms use: tiers and shards, waiting, topics, and what a run costs."""
