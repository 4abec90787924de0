-- Adds tokens, in order of id in lower case, which is how ids meet: two batches that add the same ones must not
-- wait for each other in a circle. Fewer rows than asked: an id is taken, and nothing may be committed.
with asked as materialized (
    select * from json_to_recordset(:rows) as r(
        token text, root text, parent text, workflow text, state text, status text,
        visit bigint, seq bigint, context text, counts text, visits text, entered_by text,
        task bigint, children_open bigint, held_count bigint, created_at timestamptz,
        entered_at timestamptz, changed_at timestamptz, paused_at timestamptz, ambient text, child text,
        child_task bigint)
), written as (
    insert into tokens (token, root, parent, workflow, state, status, visit, seq, context,
                        counts, visits, entered_by, task, children_open, held_count,
                        created_at, entered_at, changed_at, paused_at, ambient, child, child_task)
    select r.token, r.root, r.parent, r.workflow, r.state, r.status, r.visit, r.seq,
           r.context::json, r.counts::json, r.visits::json, r.entered_by::json, r.task,
           r.children_open, r.held_count, r.created_at, r.entered_at, r.changed_at,
           r.paused_at, r.ambient::json, r.child, r.child_task
    from asked r order by lower(r.token collate "C")
    on conflict do nothing
    returning 1
)
select confirmed((select count(*) from asked), (select count(*) from written)) as written
