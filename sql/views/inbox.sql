-- What programs asked for by SQL, and what became of it.
create view :"views".inbox as
select i.id, i.kind, i.token, i.event, i.document, i.status, i.duplicate, i.code,
       case
           when i.status = 'refused' then i.error
           when i.duplicate and i.kind = 'start' then 'the token was there already'
           when i.duplicate then 'the event with this key was there already'
       end as why,
       i.asked_at, i.settled_at
from inbox i;

comment on view :"views".inbox is 'What programs asked for by SQL: pending, applied, or refused and why.';
comment on column :"views".inbox.id is 'The number that start() or fire() answered.';
comment on column :"views".inbox.kind is 'start or fire.';
comment on column :"views".inbox.token is 'The token that is asked for.';
comment on column :"views".inbox.event is 'The event, of a fire.';
comment on column :"views".inbox.document is 'The context of a start, the payload of a fire.';
comment on column :"views".inbox.status is 'pending, applied or refused.';
comment on column :"views".inbox.duplicate is 'Whether it changed nothing because it was done before.';
comment on column :"views".inbox.code is 'The code of the refusal, as of the HTTP API.';
comment on column :"views".inbox.why is 'Why it was refused, or changed nothing.';
comment on column :"views".inbox.asked_at is 'When the function was called; the transaction may have lasted longer.';
comment on column :"views".inbox.settled_at is 'When it was applied or refused.';
