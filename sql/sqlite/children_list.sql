-- Lists the children of a token by entered_at, latest first, then by id; the statuses come as a JSON list.
-- Zero rows: none match.
select t.token, t.root, t.parent, t.workflow, t.state, t.status, t.visit, t.seq,
       t.context, t.counts, t.visits, t.entered_by, t.task,
       t.children_open, t.held_count, t.created_at, t.entered_at, t.changed_at, t.paused_at,
       t.ambient, t.child, t.child_task
from tokens t where t.parent = :parent and t.status in (select value from json_each(:statuses))
order by t.entered_at desc, t.token
limit :limit
