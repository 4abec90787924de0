-- Writes timers. Fewer rows than asked: one is missing, and nothing may be committed.
with asked as materialized (
    select * from json_to_recordset(:rows) as r(
        id bigint, status text, parked boolean, due_at timestamptz)
), written as (
    update timers t set
        status = r.status, parked = r.parked, due_at = r.due_at
    from asked r
    where t.id = r.id
    returning 1
)
select confirmed((select count(*) from asked), (select count(*) from written)) as written
