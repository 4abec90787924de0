-- Deletes the rows of items that were made and of which nothing is known all the same. It answers no rows.
delete from items i
where i.ctid = any(array(
    select n.ctid
    from json_to_recordset(:rows) as r(scope smallint, place text, entity text, item text)
    cross join lateral (
        select o.ctid from items o
        where o.scope = r.scope and o.place = r.place and o.entity = r.entity and o.item = r.item and o.status = 'none'
        limit 1
    ) n
))
