-- Deletes the rows of items of which nothing is known. Here there are none: nothing is made before it is decided.
delete from items
where status = 'none' and (scope, place, entity, item) in (
    select value ->> 'scope', value ->> 'place', value ->> 'entity', value ->> 'item' from json_each(:rows)
)
