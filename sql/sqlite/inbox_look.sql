-- SQLite has no inbox. Always zero rows.
select null as id, null as kind, null as place, null as size, null as token, null as event, null as document, null as key
where 1 in (:passed, :limit, :bytes, :largest) and false
