# The next block of the update file: products with their offers and reviews.

INSERT DATA {
${Triples}
}
