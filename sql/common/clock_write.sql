-- Keeps the time that a manual clock is moved to. Zero rows: another control plane has raised the epoch.
update control_plane set clock = :clock where epoch = :epoch returning epoch
