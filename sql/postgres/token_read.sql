-- Reads a token by its exact id. Zero rows: there is no such token.
select t.token, t.root, t.parent, t.workflow, t.state, t.status, t.visit, t.seq,
       t.context::text as context, t.counts::text as counts, t.visits::text as visits, t.entered_by::text as entered_by, t.task,
       t.children_open, t.held_count, t.created_at, t.entered_at, t.changed_at, t.paused_at,
       t.ambient::text as ambient, t.child, t.child_task
from tokens t where t.token = :token
