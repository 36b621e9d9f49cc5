"""Parts of the script that makes doctor/data/models.jsonl: reading public configurations, and agreeing on them."""
