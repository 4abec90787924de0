-- Writes tokens that are as they had been read; null leaves a document as it is. Fewer rows than asked:
-- another transaction changed one, and nothing may be committed.
update tokens as t set
    state = r.state, status = r.status, visit = r.visit, seq = r.seq,
    context = coalesce(r.context, t.context), counts = coalesce(r.counts, t.counts),
    visits = coalesce(r.visits, t.visits), entered_by = coalesce(r.entered_by, t.entered_by),
    task = r.task, children_open = r.children_open, held_count = r.held_count,
    entered_at = r.entered_at, changed_at = r.changed_at, paused_at = r.paused_at,
    child = r.child, child_task = r.child_task
from (
    select value ->> 'token' as token, value ->> 'seq_loaded' as seq_loaded,
           value ->> 'state' as state, value ->> 'status' as status, value ->> 'visit' as visit,
           value ->> 'seq' as seq, value ->> 'context' as context, value ->> 'counts' as counts,
           value ->> 'visits' as visits, value ->> 'entered_by' as entered_by,
           value ->> 'task' as task, value ->> 'children_open' as children_open,
           value ->> 'held_count' as held_count, value ->> 'entered_at' as entered_at,
           value ->> 'changed_at' as changed_at, value ->> 'paused_at' as paused_at,
           value ->> 'child' as child, value ->> 'child_task' as child_task
    from json_each(:rows)
) as r
where t.token = r.token and t.seq = r.seq_loaded
returning 1 as written
