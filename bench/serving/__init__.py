"""How quickly serving answers, and how soon a page shows what came."""
