-- How many tokens are in which state, and since when the one is there that came first.
create view :"views".board as
select t.workflow, t.state, t.status, count(*) as tokens, min(t.entered_at) as oldest_at
from tokens t
group by t.workflow, t.state, t.status;

comment on view :"views".board is 'Tokens by workflow, state and status: how many, and since when the first of them is there.';
comment on column :"views".board.workflow is 'The workflow: the main one, or a child''s.';
comment on column :"views".board.state is 'The state; of tokens that have ended, the last one.';
comment on column :"views".board.status is 'active, paused, completed, failed or cancelled.';
comment on column :"views".board.tokens is 'How many tokens there are of this kind.';
comment on column :"views".board.oldest_at is 'When the one that is there longest entered the state.';
