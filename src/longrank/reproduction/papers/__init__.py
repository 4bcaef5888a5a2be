"""What each paper does, table by table: generators of rows (`longrank.reproduction.workbench.Row`)."""
