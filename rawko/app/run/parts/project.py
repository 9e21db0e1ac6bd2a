"""What a run takes from its project: the user's grants that it needs, and the project's own prompt templates."""

from __future__ import annotations

from rawko.config import Settings, project_of
from rawko.config.trust_items import settings_items
from rawko.trust.charts import chart_items
from rawko.trust.templates import ProjectTemplates
from rawko.vocabulary.agent import files_of
from rawko.vocabulary.documents import Document


def require_grants(settings: Settings) -> None:
    """Check, before anything starts, that the user trusts the project's files that the run would execute or obey.

    For a resumed run these are the charts, servers and templates of its recorded settings, as the files are now.

    Raises:
        NotTrusted: The user does not trust one of them.
    """
    project = project_of(settings)
    files = project.files
    agents = settings.agents.values()
    monitors = files_of((*settings.monitors, *(one for agent in agents for one in agent.monitors)))
    items = [*chart_items(project, [*(config.chart for config in agents), *monitors])]
    users = settings.of_user.get("mcp", {})
    servers = {name: server.to_json() for name, server in settings.mcp.items() if server != users.get(name)}
    items += settings_items(Document({"mcp": servers}, ""), files)
    if settings.prompts_dir is not None and settings.prompts_dir != settings.of_user.get("prompts_dir"):
        inside = files.relative(settings.prompts_dir)
        place = files if inside is not None else project.at(settings.prompts_dir).files
        items += settings_items(Document({"prompts": inside or "."}, ""), place)
    project.require(items)


def templates_of(settings: Settings) -> ProjectTemplates | None:
    """The project's own prompt templates; None where its settings name no folder of templates."""
    return None if settings.prompts_dir is None else ProjectTemplates(project_of(settings), settings.prompts_dir)
