-- Writes what became of rows of the inbox, which inbox_lock has locked: they are still pending.
-- Fewer rows than asked: one is missing, and nothing may be committed.
with asked as materialized (
    select * from json_to_recordset(:rows) as r(
        id bigint, status text, duplicate boolean, code text, error text, settled_at timestamptz)
), written as (
    update inbox i set
        status = r.status, duplicate = r.duplicate, code = r.code, error = r.error, settled_at = r.settled_at
    from asked r
    where i.id = r.id
    returning 1
)
select confirmed((select count(*) from asked), (select count(*) from written)) as written
