# Everything that an offer is the subject of.

DELETE WHERE { ${Offer} ?property ?value }
