-- Reads where a task is: its token, its queue and the visit. Zero rows: there is no such task.
select k.token, k.queue, k.visit from tasks k where k.id = :task
