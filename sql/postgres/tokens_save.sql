-- Writes tokens that are as they had been read; null leaves a document as it is. Fewer rows than asked:
-- another transaction changed one, and nothing may be committed.
with asked as materialized (
    select * from json_to_recordset(:rows) as r(
        token text, seq_loaded bigint, state text, status text, visit bigint, seq bigint,
        context text, counts text, visits text, entered_by text, task bigint,
        children_open bigint, held_count bigint, entered_at timestamptz, changed_at timestamptz,
        paused_at timestamptz, child text, child_task bigint)
), written as (
    update tokens t set
        state = r.state, status = r.status, visit = r.visit, seq = r.seq,
        context = coalesce(r.context::json, t.context),
        counts = coalesce(r.counts::json, t.counts),
        visits = coalesce(r.visits::json, t.visits),
        entered_by = coalesce(r.entered_by::json, t.entered_by), task = r.task,
        children_open = r.children_open, held_count = r.held_count, entered_at = r.entered_at,
        changed_at = r.changed_at, paused_at = r.paused_at, child = r.child, child_task = r.child_task
    from asked r
    where t.token = r.token and t.seq = r.seq_loaded
    returning 1
)
select confirmed((select count(*) from asked), (select count(*) from written)) as written
